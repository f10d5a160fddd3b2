// Package repocheck tests the repository: the dependencies of each module, the
// code and the references in the pages, and the commands.
package repocheck
