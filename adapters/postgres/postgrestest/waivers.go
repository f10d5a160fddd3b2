package postgrestest

import "github.com/gatehouse-go/gatehouse/adaptertest"

// lacking are the fields for which the tables of Prisma and Drizzle have no room before
// SchemaChanges.
var lacking = []string{"Account.AuthorizationDetails", "Authenticator.Name", "Authenticator.Created", "Authenticator.LastUsed"}

// waivers are the clauses that no adapter can keep on the tables of a site as they are:
// these and no others.
func waivers(site string) []adaptertest.Waiver {
	const (
		counters = "the column of the counter has 32 bits, and a greater counter is refused"
		expiry   = "the column expires_at has 32 bits, and a later instant is refused"
		details  = "there is no column for authorization details, and they are refused"
		index    = "no index has the owners of accounts, sessions and passkeys"
		address  = "the column of the address refuses null, so a user without an address is refused (RequiresEmail)"
	)
	all := []adaptertest.Waiver{
		{Clause: "ACCT-18", Reason: details},
		{Clause: "ALIST-04", Reason: expiry},
		{Clause: "AUTHN-11", Reason: counters},
		{Clause: "AUTHN-12", Reason: counters},
		{Clause: "AEDIT-07", Reason: counters},
		{Clause: "VOL-04", Reason: index, Racy: true},
	}
	if site == "Prisma" {
		all = append(all, adaptertest.Waiver{Clause: "USER-12", Reason: address}, adaptertest.Waiver{Clause: "USER-29", Reason: address})
	}
	return all
}
