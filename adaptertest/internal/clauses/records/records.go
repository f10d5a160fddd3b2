// Package records has the clauses about records: how they are created, found, changed, listed and deleted, and what
// the adapter can do without some of its methods.
package records

import "slices"

// Checks are the checks of the clauses.
var Checks = slices.Concat(
	capClauses, userClauses, acctClauses, sessClauses, vtokClauses, authnClauses,
	signupClauses, alistClauses, slistClauses, aeditClauses, teditClauses, passClauses, cascClauses,
)
