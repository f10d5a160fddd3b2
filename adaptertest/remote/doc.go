// Package remote lets the conformance suite test an adapter in another program, in
// any language. [Client] is the adapter that the suite calls: it speaks JSON lines
// with the program, as PROTOCOL.md in this folder describes. [Serve] is the other
// side for adapters in Go. [Pool] starts a program, and [Pool.Harness] makes the
// harness of the suite.
//
// What goes wrong with the program, such as its end, silence, or a line that is no
// answer, is an error of type *[Fault]. The suite does not judge the adapter by it.
package remote
