// Package stress holds the tests that take long when they are asked to: single-use tokens under fire, and servers that are
// killed under load. They are run small with all tests; make stress runs them in full and prints the numbers.
package stress
