"""The allowlisting forward proxy, the only way out of a workspace and only when the policy gives it one."""
