package sqlite

import (
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"testing/fstest"
)

// NextVersion returns an adapter of a version of the package that needs one more
// column and one more index.
func (a *Adapter) NextVersion() *Adapter {
	next := *a.schema
	next.version++
	next.tables = slices.Clone(next.tables)
	user := &next.tables[0]
	user.columns = append(slices.Clone(user.columns), textColumn("locale").inNewer())
	user.indexes = append(slices.Clone(user.indexes), index{"user_locale_idx", false, []string{"locale"}})
	files := fstest.MapFS{"schema/9999_locale.sql": {Data: []byte(`
		ALTER TABLE "user" ADD COLUMN locale TEXT;
		CREATE INDEX "user_locale_idx" ON "user" (locale);`)}}
	names, _ := fs.Glob(schemaFiles, "schema/*.sql")
	for _, name := range names {
		text, err := fs.ReadFile(schemaFiles, name)
		if err != nil {
			panic(err)
		}
		files[name] = &fstest.MapFile{Data: text}
	}
	next.files = files
	b := *a
	b.schema, b.checked = &next, new(atomic.Bool)
	return &b
}

// Statements returns the statements that the adapter has run so far, and the
// statements of the trigger.
func (a *Adapter) Statements() (all []string) {
	a.statements.Range(func(_, s any) bool {
		all = append(all, s.(*statement).text)
		return true
	})
	for statement := range strings.SplitSeq(strings.ReplaceAll(a.schema.trigger, "old.id", "?"), ";") {
		if statement = strings.TrimSpace(statement); statement != "" {
			all = append(all, a.named(statement))
		}
	}
	return all
}

// WithoutTurns returns an adapter whose writes do not queue.
func (a *Adapter) WithoutTurns() *Adapter {
	b := *a
	b.turns = nil
	return &b
}
