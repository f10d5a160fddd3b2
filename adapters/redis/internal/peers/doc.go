// Package peers measures the read of a session beside other libraries, on one
// server, in one run. It is a module of its own so that nobody else builds on
// what it compares with.
package peers
