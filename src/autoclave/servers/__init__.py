"""Real servers of the Remote Execution API for one machine: a shared cache for a person's checkouts, and all that tests need."""
