package modernc_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/adapters/sqlite/modernc"
)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := modernc.Open(filepath.Join(dir, "users.db"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = db.Close() }()
	store, err := sqlite.New(db)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(store.EnsureSchema(context.Background()))
	// Output: <nil>
}
