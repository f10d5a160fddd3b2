// Package bundled runs the conformance suite over every bundled adapter.
package bundled
