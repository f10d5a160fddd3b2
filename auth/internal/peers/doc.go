// Package peers measures a request that reads a session, with Gatehouse and
// with other libraries for Go. It is a module of its own, so that no other
// module depends on those libraries.
package peers
