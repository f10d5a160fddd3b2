package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// A databaseFile knows the file of a database as it was when it was first noted.
type databaseFile struct {
	noted  atomic.Pointer[file]
	looked atomic.Int64 // when it was the same, in nanoseconds since 1970
}

type file struct {
	path string
	info os.FileInfo
}

var errReplaced = errors.New("another file is in the place of the database's file, or none: the open connections still use the former one, " +
	"whose changes would be lost; close the database and open it again")

// seldom is how often reads look at the file: that takes as long as a tenth of a read.
const seldom = 100 * time.Millisecond

// sameLately is same for reads, which lose nothing: within seldom they don't look again.
func (f *databaseFile) sameLately() error {
	if time.Now().UnixNano()-f.looked.Load() < int64(seldom) {
		return nil
	}
	return f.same()
}

// same returns an error if the file was removed, or if another one took its place.
// SQLite itself says nothing.
func (f *databaseFile) same() error {
	was := f.noted.Load()
	if was == nil {
		return nil
	}
	now, err := os.Stat(was.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(was.info, now) {
		f.looked.Store(0)
		return errReplaced
	}
	f.looked.Store(time.Now().UnixNano())
	return nil
}

// note notes the file of the database, unless it is in memory or elsewhere.
func (f *databaseFile) note(ctx context.Context, db DB) error {
	if f.noted.Load() != nil {
		return f.same()
	}
	path := ""
	rows, err := db.QueryContext(ctx, `SELECT file FROM pragma_database_list WHERE name = 'main'`)
	if err := drain(rows, err, func(rows *sql.Rows) error { return rows.Scan(&path) }); err != nil || path == "" {
		return err
	}
	if info, err := os.Stat(path); err == nil {
		f.noted.CompareAndSwap(nil, &file{path, info})
	}
	return nil
}

// inUTF8 is the advice for a database that stores text as UTF-16: SQLite can't change that.
func (f *databaseFile) inUTF8() string {
	was := f.noted.Load()
	if was == nil {
		return "make another database"
	}
	inShell := func(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }
	return "stop the site, copy the database with the shell command umask 077 && sqlite3 " + inShell(was.path) +
		" .dump | sqlite3 -bail " + inShell(was.path+".utf8") + ", and open the copy"
}
