package wirings

import (
	"context"

	ncruces "github.com/ncruces/go-sqlite3/driver"
	modernc "modernc.org/sqlite"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite/sqlitetest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
)

// sqliteWiring is one driver, with the settings that the adapter's README recommends for it.
type sqliteWiring struct {
	name     string
	settings sqlitetest.Settings
}

func sqliteWirings() []Wiring {
	const (
		plenty     = 8
		parameters = "_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_txlock=immediate"
	)
	var all []Wiring
	for _, w := range []sqliteWiring{
		{"modernc", sqlitetest.Settings{Driver: &modernc.Driver{}, Parameters: parameters, Conns: plenty}},
		{"ncruces", sqlitetest.Settings{Driver: &ncruces.SQLite{}, Parameters: parameters, Conns: plenty}},
		{"pool of one", sqlitetest.Settings{Driver: &modernc.Driver{}, Parameters: parameters, Conns: 1}},
		{"tables of Prisma, as they are", sqlitetest.Settings{Driver: &modernc.Driver{}, Parameters: parameters, Conns: plenty, Site: "Prisma", AsTheyAre: true}},
		{"tables of Prisma, after SchemaChanges", sqlitetest.Settings{Driver: &modernc.Driver{}, Parameters: parameters, Conns: plenty, Site: "Prisma"}},
		{"tables of Drizzle, as they are", sqlitetest.Settings{Driver: &modernc.Driver{}, Parameters: parameters, Conns: plenty, Site: "Drizzle", AsTheyAre: true}},
		{"tables of Drizzle, after SchemaChanges", sqlitetest.Settings{Driver: &modernc.Driver{}, Parameters: parameters, Conns: plenty, Site: "Drizzle"}},
	} {
		all = append(all, Wiring{Adapter: "sqlite", Name: w.name, open: w.open})
	}
	return all
}

func (w sqliteWiring) open(ctx context.Context, _ *stores.Stores) (*Opened, error) {
	version, err := w.settings.Version(ctx)
	return &Opened{Server: "SQLite", Version: version, Harness: w.settings.Harness()}, err
}
