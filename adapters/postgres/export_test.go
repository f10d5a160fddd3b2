package postgres

import (
	"io/fs"
	"slices"
	"testing/fstest"
	"time"
)

// NextVersion returns an adapter of a version of the package that needs one more
// column and one more index.
func (a *Adapter) NextVersion() *Adapter {
	next := *a.schema
	next.version++
	next.tables = slices.Clone(next.tables)
	next.tables[0].columns = append(slices.Clone(next.tables[0].columns), column{name: "locale", typ: "text", null: true, added: true})
	next.tables[0].indexes = append(slices.Clone(next.tables[0].indexes), index{"users_locale_idx", false, []string{"locale"}})
	files := fstest.MapFS{"schema/0003_locale.sql": {Data: []byte(`
		ALTER TABLE "users" ADD COLUMN locale text;
		CREATE INDEX "users_locale_idx" ON "users" (locale);
		UPDATE "gatehouse_schema" SET version = 3;`)}}
	for _, name := range []string{"schema/0001_tables.sql", "schema/0002_passwords.sql"} {
		before, err := fs.ReadFile(schemaFiles, name)
		if err != nil {
			panic(err)
		}
		files[name] = &fstest.MapFile{Data: before}
	}
	next.files = files
	return a.with(&next)
}

// WithLease returns an adapter whose lease for changing the tables ends after d.
func (a *Adapter) WithLease(d time.Duration) *Adapter {
	s := *a.schema
	s.lease = d
	return a.with(&s)
}

func (a *Adapter) with(s *schema) *Adapter {
	b, err := newAdapter(nil)
	if err != nil {
		panic(err)
	}
	b.names, b.schema = a.names, s
	if a.std != nil {
		return b.OnSQL(a.std)
	}
	return b.On(a.db)
}
