"""What the project's own tests need of Pants: the backend `autoclave_pants.testing`."""
