// Package handlers measures a request that reads a session, with Gatehouse and
// with other libraries for Go. Its module is separate, so that no other module
// depends on those libraries.
package handlers
