// Package pages has the addresses of the pages that explain the clauses.
package pages

import (
	"regexp"
	"strings"
)

// Repository is where the files of this repository are, before a tag or branch and a path. The
// links of all comments, failures and reports begin with it.
const Repository = "https://github.com/gatehouse-go/gatehouse/blob/"

// released matches the versions that have a tag. The version of a commit without one ends with it.
var released = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[a-z]+(\.\d+)?)?$`)

// File is the path of the page of a group, below the module.
func File(group string) string { return "clauses/" + strings.ToLower(group) + ".md" }

// Clause is the address of the clause, at the tag of the suite's version, or on main if it has none.
func Clause(id, version string) string {
	group, _, _ := strings.Cut(id, "-")
	ref := "main"
	if released.MatchString(version) {
		ref = "adaptertest/" + version
	}
	return Repository + ref + "/adaptertest/" + File(group) + "#" + strings.ToLower(id)
}
