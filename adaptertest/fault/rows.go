package fault

import (
	"database/sql/driver"
	"errors"
	"io"
	"reflect"
	"slices"
)

// rows wraps a result. It has all optional methods of a result. If the wrapped
// result lacks one, the method returns what database/sql assumes without it.
type rows struct {
	driver.Rows
	conn  *conn
	cut   bool // the answer breaks off after the first row
	given bool // the first row was read
	over  bool
}

func (r *rows) Close() error {
	if r.over {
		return nil
	}
	r.over = true
	r.conn.driver.rows.Add(-1)
	return r.Rows.Close()
}

func (r *rows) Next(dest []driver.Value) error {
	if r.cut {
		if r.given {
			return injected("next")
		}
		r.given = true
		if err := r.Rows.Next(dest); err == nil || !errors.Is(err, io.EOF) {
			return err
		}
		return injected("next") // the end of the answer has not arrived either
	}
	if r.conn.bad.Load() {
		return driver.ErrBadConn
	}
	return r.Rows.Next(dest)
}

func (r *rows) cutShort() { r.cut = true }

// finish reads the result to its end and replaces it by a copy in memory.
func (r *rows) finish() {
	r.Rows = buffer(r.Rows)
}

func (r *rows) HasNextResultSet() bool {
	n, ok := r.Rows.(driver.RowsNextResultSet)
	return ok && n.HasNextResultSet()
}

func (r *rows) NextResultSet() error {
	if n, ok := r.Rows.(driver.RowsNextResultSet); ok {
		return n.NextResultSet()
	}
	return io.EOF
}

func (r *rows) ColumnTypeScanType(i int) reflect.Type {
	if t, ok := r.Rows.(driver.RowsColumnTypeScanType); ok {
		return t.ColumnTypeScanType(i)
	}
	return reflect.TypeFor[any]()
}

func (r *rows) ColumnTypeDatabaseTypeName(i int) string {
	if t, ok := r.Rows.(driver.RowsColumnTypeDatabaseTypeName); ok {
		return t.ColumnTypeDatabaseTypeName(i)
	}
	return ""
}

func (r *rows) ColumnTypeLength(i int) (int64, bool) {
	if t, ok := r.Rows.(driver.RowsColumnTypeLength); ok {
		return t.ColumnTypeLength(i)
	}
	return 0, false
}

func (r *rows) ColumnTypeNullable(i int) (nullable, ok bool) {
	if t, ok := r.Rows.(driver.RowsColumnTypeNullable); ok {
		return t.ColumnTypeNullable(i)
	}
	return false, false
}

func (r *rows) ColumnTypePrecisionScale(i int) (precision, scale int64, ok bool) {
	if t, ok := r.Rows.(driver.RowsColumnTypePrecisionScale); ok {
		return t.ColumnTypePrecisionScale(i)
	}
	return 0, 0, false
}

// resultSet is a result set in memory, with the error that ended it.
type resultSet struct {
	columns []string
	types   []columnType
	rows    [][]driver.Value
	err     error
}

type columnType struct {
	scan             reflect.Type
	name             string
	length           int64
	hasLength        bool
	nullable, known  bool
	precision, scale int64
	hasScale         bool
}

// buffered is a result in memory.
type buffered struct {
	sets []resultSet
	at   int
}

// buffer reads a result to its end and closes it.
func buffer(under driver.Rows) *buffered {
	b := &buffered{}
	from := &rows{Rows: under} // for the defaults of rows
	for {
		set := resultSet{columns: slices.Clone(under.Columns())}
		for i := range set.columns {
			var t columnType
			t.scan = from.ColumnTypeScanType(i)
			t.name = from.ColumnTypeDatabaseTypeName(i)
			t.length, t.hasLength = from.ColumnTypeLength(i)
			t.nullable, t.known = from.ColumnTypeNullable(i)
			t.precision, t.scale, t.hasScale = from.ColumnTypePrecisionScale(i)
			set.types = append(set.types, t)
		}
		for set.err == nil {
			row := make([]driver.Value, len(set.columns))
			if set.err = under.Next(row); set.err != nil {
				break
			}
			for i, v := range row {
				if bytes, ok := v.([]byte); ok {
					row[i] = slices.Clone(bytes)
				}
			}
			set.rows = append(set.rows, row)
		}
		b.sets = append(b.sets, set)
		if !errors.Is(set.err, io.EOF) || !from.HasNextResultSet() || from.NextResultSet() != nil {
			break
		}
	}
	if err := under.Close(); err != nil && errors.Is(b.last().err, io.EOF) {
		b.last().err = err
	}
	return b
}

func (b *buffered) last() *resultSet { return &b.sets[len(b.sets)-1] }
func (b *buffered) set() *resultSet  { return &b.sets[b.at] }

func (b *buffered) Columns() []string { return b.set().columns }
func (b *buffered) Close() error      { return nil }

func (b *buffered) Next(dest []driver.Value) error {
	s := b.set()
	if len(s.rows) == 0 {
		return s.err
	}
	copy(dest, s.rows[0])
	s.rows = s.rows[1:]
	return nil
}

func (b *buffered) HasNextResultSet() bool { return b.at+1 < len(b.sets) }

func (b *buffered) NextResultSet() error {
	if !b.HasNextResultSet() {
		return io.EOF
	}
	b.at++
	return nil
}

func (b *buffered) ColumnTypeScanType(i int) reflect.Type   { return b.set().types[i].scan }
func (b *buffered) ColumnTypeDatabaseTypeName(i int) string { return b.set().types[i].name }
func (b *buffered) ColumnTypeLength(i int) (int64, bool) {
	t := b.set().types[i]
	return t.length, t.hasLength
}
func (b *buffered) ColumnTypeNullable(i int) (nullable, ok bool) {
	t := b.set().types[i]
	return t.nullable, t.known
}

func (b *buffered) ColumnTypePrecisionScale(i int) (precision, scale int64, ok bool) {
	t := b.set().types[i]
	return t.precision, t.scale, t.hasScale
}
