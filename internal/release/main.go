// Command release makes the tags of a version. It makes a commit that is not
// on main, whose go.mod files name the version in place of the replace lines,
// and one tag for each published module. It pushes nothing.
//
// Before it ends, it makes a module proxy in a folder from those tags, and
// builds and runs a program outside the repository against it. With -dry-run
// all of this happens in a copy of the repository.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	version := flag.String("version", "", "the version, such as v0.1.0")
	dryRun := flag.Bool("dry-run", false, "work in a copy of the repository and leave no tags")
	root := flag.String("root", filepath.Join("..", ".."), "the folder of the repository")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "release: unexpected argument %q\n", flag.Arg(0))
		flag.Usage()
		os.Exit(2)
	}
	if err := release(*root, *version, *dryRun); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}
