"""The web pages as routes of a server: what runs look like is `runner.pages`, who may see them is the server's."""
