package adapter_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRecordsRoundTrip: a program may store records as JSON. Encoding a record
// and decoding it changes no field, although records print without their tokens.
func TestRecordsRoundTrip(t *testing.T) {
	t.Parallel()
	for _, record := range []any{
		&adapter.User{}, &adapter.Account{}, &adapter.Session{}, &adapter.SessionAndUser{}, &adapter.VerificationToken{},
		&adapter.Authenticator{}, &adapter.Password{},
	} {
		for _, empty := range []bool{true, false} {
			if !empty {
				fillIn(t, reflect.ValueOf(record).Elem(), "record")
			}
			text, err := json.Marshal(record)
			require.NoErrorf(t, err, "%T", record)
			read := reflect.New(reflect.TypeOf(record).Elem()).Interface()
			require.NoErrorf(t, json.Unmarshal(text, read), "%T", record)
			if empty && reflect.TypeOf(record) == reflect.TypeFor[*adapter.Account]() {
				read.(*adapter.Account).AuthorizationDetails = nil // decoded as the text null
			}
			assert.Equalf(t, record, read, "%T is not what was encoded: %s", record, text)
		}
	}
}

// fillIn gives each field a value that differs from those of the other fields.
func fillIn(t *testing.T, v reflect.Value, path string) {
	t.Helper()
	switch field := v.Addr().Interface().(type) {
	case *time.Time:
		*field = time.Date(2040, 2, 29, 23, 59, len(path), 987654321, time.UTC)
		return
	case *json.RawMessage:
		*field = json.RawMessage(`[{"type":"` + path + `"}]`)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fillIn(t, v.Field(i), fmt.Sprint(path, ".", v.Type().Field(i).Name))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillIn(t, v.Elem(), path)
	case reflect.String:
		v.SetString(path)
	case reflect.Int64:
		v.SetInt(1<<53 - int64(len(path)))
	case reflect.Bool:
		v.SetBool(true)
	default:
		t.Fatalf("%s is of a kind that this test does not know: %s", path, v.Kind())
	}
}
