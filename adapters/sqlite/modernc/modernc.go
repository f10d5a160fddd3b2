// Package modernc opens SQLite databases for the sqlite adapter with
// modernc.org/sqlite, a driver without cgo.
package modernc

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	_ "modernc.org/sqlite" // the driver
)

// Open opens the database file at path with the settings that suit the sqlite
// adapter: write-ahead log, a busy timeout of five seconds, foreign keys
// enforced, transactions that take the write lock when they begin. When a
// write returns, its data is on the disk (synchronous=FULL).
//
// If the file does not exist, Open creates it. Only its owner can read it,
// because it holds session tokens. The caller closes the DB. For a database in
// memory, use the memory adapter.
func Open(path string) (*sql.DB, error) {
	if path == "" || strings.HasPrefix(path, ":memory:") || strings.HasPrefix(path, "file:") {
		return nil, fmt.Errorf("sqlite: open: %q is not the path of a file; for records in memory use adapters/memory", path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: open: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("sqlite: open: %w", err)
	}
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("sqlite: open: %w", err)
	}
	db, err := sql.Open("sqlite", dataSource(path))
	if err != nil {
		return nil, fmt.Errorf("sqlite: open: %w", err)
	}
	// Connections beyond the number of processors only wait for one another.
	connections := max(4, runtime.GOMAXPROCS(0))
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// dataSource returns the URI of the file. https://sqlite.org/uri.html
func dataSource(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/data.db
	}
	file := url.URL{Scheme: "file", Path: path}
	file.RawQuery = "_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)" +
		"&_pragma=foreign_keys(1)&_txlock=immediate"
	return file.String()
}
