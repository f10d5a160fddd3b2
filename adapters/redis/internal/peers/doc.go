// Package peers compares the read of a session with other libraries, on one
// server, in one run. It is a separate module, so that no other module
// depends on these libraries.
package peers
