// Package repocheck holds the tests that keep the repository in order: what each
// module builds on, and that the README shows code that compiles.
package repocheck
