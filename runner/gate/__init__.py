"""What enters and what leaves a workspace, through git run by us and never by the repository."""
