package mysql

import "time"

// WithLease returns the adapter with a lease for changing the tables that ends after d.
func (a *Adapter) WithLease(d time.Duration) *Adapter {
	a.lease = d
	return a
}
