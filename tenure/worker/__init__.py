"""Claims jobs, runs them, keeps their leases, settles them."""
