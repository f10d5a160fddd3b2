package mongo

import (
	"errors"
	"fmt"
	"math"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// document reads the fields of a stored document. A null field, which the
// Auth.js adapter writes, is read as an absent one. The first field that can't
// be read sets the error [ERR-10].
type document struct {
	raw bson.Raw
	err error
}

func (d *document) lookup(field string) (bson.RawValue, bool) {
	v, err := d.raw.LookupErr(field)
	if err != nil {
		if !errors.Is(err, bsoncore.ErrElementNotFound) {
			d.fail(field)
		}
		return bson.RawValue{}, false
	}
	return v, v.Type != bson.TypeNull && v.Type != bson.TypeUndefined
}

func (d *document) fail(field string) {
	if d.err == nil {
		d.err = fmt.Errorf("the field %s of a stored record can't be decoded", field)
	}
}

// optional returns a text, or nil.
func (d *document) optional(field string) *string {
	v, ok := d.lookup(field)
	if !ok {
		return nil
	}
	s, ok := v.StringValueOK()
	if !ok {
		d.fail(field)
		return nil
	}
	return &s
}

// text returns a required text.
func (d *document) text(field string) string {
	s := d.optional(field)
	if s == nil {
		d.fail(field)
		return ""
	}
	return *s
}

// id returns a required ObjectID.
func (d *document) id(field string) bson.ObjectID {
	v, _ := d.lookup(field)
	id, ok := v.ObjectIDOK()
	if !ok {
		d.fail(field)
	}
	return id
}

// instant returns a date, or nil.
func (d *document) instant(field string) *time.Time {
	v, ok := d.lookup(field)
	if !ok {
		return nil
	}
	t, ok := v.TimeOK()
	if !ok {
		d.fail(field)
		return nil
	}
	return new(t.UTC())
}

// integer returns an integer, stored with any of the number types that
// JavaScript and Go write, or nil.
func (d *document) integer(field string) *int64 {
	v, ok := d.lookup(field)
	if !ok {
		return nil
	}
	if n, ok := v.Int32OK(); ok {
		return new(int64(n))
	}
	if n, ok := v.Int64OK(); ok {
		return &n
	}
	if f, ok := v.DoubleOK(); ok && f == math.Trunc(f) && math.Abs(f) < 1<<63 {
		return new(int64(f))
	}
	d.fail(field)
	return nil
}

// boolean returns a required boolean.
func (d *document) boolean(field string) bool {
	v, _ := d.lookup(field)
	b, ok := v.BooleanOK()
	if !ok {
		d.fail(field)
	}
	return b
}

// must returns the value of a required field. For an absent field it sets the
// error and returns the zero value.
func must[T any](d *document, field string, v *T) T {
	if v == nil {
		d.fail(field)
		return *new(T)
	}
	return *v
}

// fields is a document under construction. It leaves out null values.
type fields bson.D

func (f *fields) add(name string, value any) { *f = append(*f, bson.E{Key: name, Value: value}) }

func (f *fields) optional(name string, value *string) {
	if value != nil {
		f.add(name, *value)
	}
}

// number returns a whole number in its stored form: for Prisma with 32 bits if it fits,
// because a field of the type Int has them.
func (f forms) number(n int64) any {
	if f.prisma && n == int64(int32(n)) {
		return int32(n)
	}
	return n
}

// date returns an instant in its stored form, to the millisecond.
func date(t time.Time) bson.DateTime { return bson.DateTime(t.UnixMilli()) }

// kept returns an instant in the form that a later read returns.
func kept(t time.Time) time.Time { return time.UnixMilli(t.UnixMilli()).UTC() }
