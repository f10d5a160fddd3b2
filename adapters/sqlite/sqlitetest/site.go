package sqlitetest

import (
	"context"
	"database/sql"
	_ "embed"
	"regexp"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/adaptertest"
)

// PrismaTables is the schema that authjs.dev documents for @auth/prisma-adapter, as
// Prisma makes it.
//
//go:embed prisma.sql
var PrismaTables string

// DrizzleTables is the default schema of @auth/drizzle-adapter, as drizzle-kit makes it.
//
//go:embed drizzle.sql
var DrizzleTables string

// layout returns the layout of the site, and the script that makes its tables.
func (s Settings) layout() (layout sqlite.Layout, script string) {
	layout, script = sqlite.Drizzle(), DrizzleTables
	if s.Site == "Prisma" {
		layout, script = sqlite.Prisma(), PrismaTables
	}
	layout.Instants = sqlite.Milliseconds // nothing in an empty table tells
	return layout, script
}

// siteName finds the names of tables and indexes in the scripts.
var siteName = regexp.MustCompile("([\"`])((?i:user|account|session|verificationtoken|authenticator)(?:_\\w+_(?:key|unique|fkey))?[\"`])")

// makeSite makes the tables of another product in a file, with the prefix before each
// name, and with what SchemaChanges adds unless they are served as they are.
func (s Settings) makeSite(ctx context.Context, path, prefix string) error {
	return s.onFile(path, func(db *sql.DB) error {
		_, script := s.layout()
		changes := []string{siteName.ReplaceAllString(script, "${1}"+prefix+"${2}")}
		for n := 0; n < len(changes); n++ {
			if _, err := db.ExecContext(ctx, changes[n]); err != nil {
				return err
			}
			if n > 0 || s.AsTheyAre {
				continue
			}
			a, err := sqlite.New(db, s.options(prefix)...)
			if err != nil {
				return err
			}
			better, err := a.SchemaChanges(ctx)
			if err != nil {
				return err
			}
			changes = append(changes, better...)
		}
		return nil
	})
}

// options are the options of an adapter over the tables with a prefix.
func (s Settings) options(prefix string) []sqlite.Option {
	var options []sqlite.Option
	if prefix != "" {
		options = append(options, sqlite.WithPrefix(prefix))
	}
	if s.Site != "" {
		layout, _ := s.layout()
		options = append(options, sqlite.WithLayout(layout))
	}
	return options
}

// waivers are the clauses that no adapter can keep on the tables of a site as they are:
// these and no others.
func waivers(site string) []adaptertest.Waiver {
	all := []adaptertest.Waiver{
		{Clause: "ACCT-18", Reason: "there is no column for authorization details, and they are refused"},
		{Clause: "VOL-04", Reason: "no index has the owners of accounts, sessions and passkeys", Racy: true},
	}
	if site == "Prisma" {
		const address = "the column of the address refuses null, so a user without an address is refused (RequiresEmail)"
		all = append(all, adaptertest.Waiver{Clause: "USER-12", Reason: address}, adaptertest.Waiver{Clause: "USER-29", Reason: address})
	}
	return all
}

// lacking are the fields for which the tables of Prisma and Drizzle have no room before
// SchemaChanges.
var lacking = []string{"Account.AuthorizationDetails", "Authenticator.Name", "Authenticator.Created", "Authenticator.LastUsed"}
