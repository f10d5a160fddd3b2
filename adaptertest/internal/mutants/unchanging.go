package mutants

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// unchangingMutants take a record that an update does not change for one that is absent.
func unchangingMutants() []Mutant {
	return []Mutant{
		{Name: "account that an update does not change is not found", Fault: "UpdateAccount replaces the document, counts the modified ones and reports ErrNotFound if there are none. A provider that returns the same token twice is refused.", Fails: []string{"ALIST-04"},
			mem: func(m *mem) with {
				return with{optional: optional{updateAccount: func(ctx context.Context, update adapter.AccountUpdate) (*adapter.Account, error) {
					before, err := m.GetAccount(ctx, update.ProviderAccountID, update.Provider)
					if err != nil || before == nil {
						return m.UpdateAccount(ctx, update)
					}
					after := *before
					update.Apply(&after)
					sets := !reflect.DeepEqual(update, adapter.AccountUpdate{Provider: update.Provider, ProviderAccountID: update.ProviderAccountID})
					if sets && reflect.DeepEqual(&after, before) {
						return nil, fmt.Errorf("mem: no account was changed: %w", adapter.ErrNotFound)
					}
					return m.UpdateAccount(ctx, update)
				}}}
			}},
		{Name: "update of an account counts changed rows", Fault: "UpdateAccount writes only rows that differ, and takes no row for an absent account.", Fails: []string{"ALIST-04"}, db: onlyDiffering("account")},
		{Name: "user that an update does not change is not found", Fault: "UpdateUser replaces the document, counts the modified ones and reports ErrNotFound if there are none.", Fails: []string{"USER-19"},
			mem: func(m *mem) with {
				return with{updateUser: func(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
					before, err := m.GetUser(ctx, update.ID)
					if err != nil || before == nil {
						return m.UpdateUser(ctx, update)
					}
					after := *before
					update.Apply(&after)
					if update != (adapter.UserUpdate{ID: update.ID}) && reflect.DeepEqual(&after, before) {
						return nil, fmt.Errorf("mem: no user was changed: %w", adapter.ErrNotFound)
					}
					return m.UpdateUser(ctx, update)
				}}
			}},
		{Name: "update of a user counts changed rows", Fault: "UpdateUser writes only rows that differ, and takes no row for an absent user.", Fails: []string{"USER-19"}, db: onlyDiffering("user")},
	}
}

// onlyDiffering lets the updates of a table write only the rows that they change.
func onlyDiffering(table string) func(sqlite.DB) sqlite.DB {
	return func(db sqlite.DB) sqlite.DB {
		return altered{DB: db, query: func(query string, args []any) (string, []any) {
			set, updates := strings.CutPrefix(query, `UPDATE "`+table+`" SET `)
			set, rest, whole := strings.Cut(set, " WHERE ")
			condition, returning, _ := strings.Cut(rest, " RETURNING ")
			if !updates || !whole {
				return query, args
			}
			var differs []string
			for i, assignment := range strings.Split(set, ", ") {
				column, _, _ := strings.Cut(assignment, " = ")
				differs = append(differs, fmt.Sprintf("%s IS NOT ?%d", column, i+1))
			}
			return `UPDATE "` + table + `" SET ` + set + " WHERE " + condition + " AND (" + strings.Join(differs, " OR ") + ") RETURNING " + returning, args
		}}
	}
}
