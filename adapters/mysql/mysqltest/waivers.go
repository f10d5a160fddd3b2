package mysqltest

import (
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
)

// declare says what the tables of a site can't keep: these clauses and no others.
func (e *Env) declare(h *adaptertest.Harness) {
	switch {
	case e.Site == "":
		return
	case e.AsTheyAre:
		h.Declarations.Lacks = []string{
			"Account.AuthorizationDetails", "Authenticator.Name", "Authenticator.Created", "Authenticator.LastUsed",
		}
		h.Waivers = asTheyAre()
		if e.Site == "Prisma" {
			const address = "the column of the address refuses null, so a user without an address is refused (RequiresEmail)"
			h.Waivers = append(h.Waivers, waive(address, "USER-12", "USER-29")...)
		}
		if e.Site == "Drizzle" {
			h.Declarations.Precision = time.Second
			h.Waivers = append(h.Waivers, waive("sessions and tokens end at a whole second", "TIME-03")...)
			h.Waivers = append(h.Waivers, waive("the type TIMESTAMP begins in 1970 and ends in 2038, and other instants are refused",
				"TIME-06", "TIME-10", "EXP-01", "EXP-04", "EXP-05")...)
		}
	default:
		h.Waivers = waive("identifier and token are a key together, which has room for 255 and 512 characters", "DATA-09")
	}
}

// asTheyAre are the waivers for the tables that both products make.
func asTheyAre() []adaptertest.Waiver {
	const (
		collation = "the collation of the keys ignores case, accents and padding, so such a key is a conflict; lookups are exact"
		bits      = "the columns of counters and of expires_at have 32 bits, and greater values are refused"
		details   = "there is no column for authorization details, and they are refused"
		length    = "the columns have room for 191 or 255 characters, and longer texts are refused"
	)
	return slices.Concat(
		waive(collation, "USER-13", "USER-14", "USER-27", "ACCT-08", "SESS-04", "VTOK-13", "AUTHN-15", "DATA-07"),
		[]adaptertest.Waiver{
			{Clause: "ISO-03", Reason: collation, Racy: true}, {Clause: "ISO-05", Reason: collation, Racy: true},
		},
		waive(bits, "AUTHN-11", "AUTHN-12", "ALIST-04", "AEDIT-07"),
		waive(details, "ACCT-18"), waive(length, "AUTHN-17", "DATA-09"),
	)
}

func waive(reason string, clauses ...string) (all []adaptertest.Waiver) {
	for _, clause := range clauses {
		all = append(all, adaptertest.Waiver{Clause: clause, Reason: reason})
	}
	return all
}
