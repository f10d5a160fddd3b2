// Package redis compares the read of a session with other libraries, on one
// server of Redis, in one run.
package redis
