"""The embedded server: real servers in real folders, real users in processes of their own."""
