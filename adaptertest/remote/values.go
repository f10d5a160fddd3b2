package remote

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// names are the fields whose names in Auth.js do not follow from those in Go.
var names = map[string]string{
	"ID": "id", "IDs": "ids", "CredentialID": "credentialID", "AccessToken": "access_token", "RefreshToken": "refresh_token",
	"IDToken": "id_token", "Scope": "scope", "TokenType": "token_type", "SessionState": "session_state",
	"ExpiresAt": "expires_at", "AuthorizationDetails": "authorization_details",
}

// nameOf returns the name of a field in the protocol.
func nameOf(field string) string {
	if name, ok := names[field]; ok {
		return name
	}
	return strings.ReplaceAll(strings.ToLower(field[:1])+field[1:], "ID", "Id")
}

var (
	timeType = reflect.TypeFor[time.Time]()
	rawType  = reflect.TypeFor[json.RawMessage]()
)

// encode returns a value as the protocol has it: what package json writes as is.
func encode(v reflect.Value) any {
	switch v.Type() {
	case timeType:
		return formatInstant(v.Interface().(time.Time))
	case rawType:
		return encodeRaw(v.Interface().(json.RawMessage))
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return encode(v.Elem())
	case reflect.Slice:
		if v.IsNil() {
			return nil
		}
		list := make([]any, v.Len())
		for i := range list {
			list[i] = encode(v.Index(i))
		}
		return list
	case reflect.String:
		return encodeText(v.String())
	case reflect.Struct:
		return encodeRecord(v)
	default:
		return v.Interface()
	}
}

// encodeRecord encodes the fields of a record. A field that an update leaves as it is
// is absent, and so is the ID of a user who has none yet and the address that an update
// does not ask for. No address is null.
func encodeRecord(v reflect.Value) map[string]any {
	fields := map[string]any{}
	for i := range v.NumField() {
		field, value := v.Type().Field(i).Name, v.Field(i)
		if change, ok := changeOf(value); ok {
			if !change.set {
				continue
			}
			value = change.value
		}
		name := nameOf(field)
		switch {
		case (field == "ID" || field == "IfEmail") && value.String() == "":
		case field == "Email" && value.String() == "":
			fields[name] = nil
		default:
			fields[name] = encode(value)
		}
	}
	return fields
}

// change is an adapter.Change of any type.
type change struct {
	value reflect.Value
	set   bool
}

func changeOf(v reflect.Value) (change, bool) {
	get := v.MethodByName("Get")
	if !get.IsValid() || !v.MethodByName("IsSet").IsValid() {
		return change{}, false
	}
	got := get.Call(nil)
	return change{got[0], got[1].Bool()}, true
}

// encodeText returns a text, or its bytes in base64 if it is not valid UTF-8.
func encodeText(s string) any {
	if utf8.ValidString(s) {
		return s
	}
	return map[string]string{"base64": base64.StdEncoding.EncodeToString([]byte(s))}
}

func encodeRaw(raw json.RawMessage) any {
	switch {
	case raw == nil:
		return nil
	case json.Valid(raw) && utf8.Valid(raw):
		return raw
	default:
		return map[string]string{"base64": base64.StdEncoding.EncodeToString(raw)}
	}
}

// decode stores JSON in v, a value that can be set. Its error says where the shape is
// wrong, and quotes nothing: values may be secrets.
func decode(data json.RawMessage, v reflect.Value, path string) error {
	if isNull(data) {
		v.SetZero()
		return nil
	}
	switch v.Type() {
	case timeType:
		return decodeInstant(data, v, path)
	case rawType:
		return decodeRaw(data, v)
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return decode(data, v.Elem(), path)
	case reflect.Slice:
		return decodeList(data, v, path)
	case reflect.String:
		return decodeText(data, v, path)
	case reflect.Struct:
		return decodeRecord(data, v, path)
	default:
		if err := json.Unmarshal(data, v.Addr().Interface()); err != nil {
			return wrong(path, v.Type().String(), data)
		}
		return nil
	}
}

func isNull(data json.RawMessage) bool {
	return len(data) == 0 || string(bytes.TrimSpace(data)) == "null"
}

// wrong says that a value has another kind than the wanted one.
func wrong(path, want string, got json.RawMessage) error {
	kind := "a number"
	switch bytes.TrimSpace(got)[0] {
	case '"':
		kind = "a string"
	case '{':
		kind = "an object"
	case '[':
		kind = "an array"
	case 't', 'f':
		kind = "a boolean"
	}
	return fmt.Errorf("%s is %s of the wrong form, want %s", strings.TrimPrefix(path, "."), kind, want)
}

func decodeList(data json.RawMessage, v reflect.Value, path string) error {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return wrong(path, "an array", data)
	}
	v.Set(reflect.MakeSlice(v.Type(), len(list), len(list)))
	for i := range list {
		if err := decode(list[i], v.Index(i), fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	return nil
}

func decodeRecord(data json.RawMessage, v reflect.Value, path string) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return wrong(path, "an object", data)
	}
	for i := range v.NumField() {
		name := nameOf(v.Type().Field(i).Name)
		value, there := fields[name]
		if !there {
			continue
		}
		field := v.Field(i)
		if of, ok := changeOf(field); ok {
			to := reflect.New(of.value.Type()).Elem()
			if err := decode(value, to, path+"."+name); err != nil {
				return err
			}
			setChange(field, to)
			continue
		}
		if err := decode(value, field, path+"."+name); err != nil {
			return err
		}
	}
	return nil
}

// setChange sets a field of an update to adapter.To(to).
func setChange(field, to reflect.Value) {
	var set any
	switch value := to.Interface().(type) {
	case *string:
		set = adapter.To(value)
	case string:
		set = adapter.To(value)
	case *time.Time:
		set = adapter.To(value)
	case time.Time:
		set = adapter.To(value)
	case *int64:
		set = adapter.To(value)
	case json.RawMessage:
		set = adapter.To(value)
	}
	field.Set(reflect.ValueOf(set))
}

// bytesIn returns the bytes of {"base64": "…"}.
func bytesIn(data json.RawMessage) ([]byte, bool) {
	var coded struct {
		Base64 *[]byte `json:"base64"`
	}
	if err := json.Unmarshal(data, &coded); err != nil || coded.Base64 == nil {
		return nil, false
	}
	return *coded.Base64, true
}

func decodeText(data json.RawMessage, v reflect.Value, path string) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		coded, ok := bytesIn(data)
		if !ok {
			return wrong(path, `a string, or {"base64": …}`, data)
		}
		text = string(coded)
	}
	v.SetString(text)
	return nil
}

func decodeRaw(data json.RawMessage, v reflect.Value) error {
	if coded, ok := bytesIn(data); ok {
		data = coded
	}
	v.SetBytes(bytes.Clone(data))
	return nil
}

// Instants are texts of RFC 3339 with up to nine digits of a second. Years that do not
// have four digits have a sign and six, as in JavaScript.
const (
	instantLayout = "-01-02T15:04:05.999999999Z07:00"
	utcLayout     = "-01-02T15:04:05.999999999Z"
)

// formatInstant writes Z for UTC. An offset, also +00:00, says that the instant is in a
// zone, which the contract does not want.
func formatInstant(t time.Time) string {
	layout := instantLayout
	if _, offset := t.Zone(); offset == 0 {
		layout = utcLayout
		if t.Location() == time.Local {
			layout = "-01-02T15:04:05.999999999+00:00"
		}
	}
	year := fmt.Sprintf("%04d", t.Year())
	if t.Year() < 0 || t.Year() > 9999 {
		year = fmt.Sprintf("%+07d", t.Year())
	}
	return year + t.Format(layout)
}

func decodeInstant(data json.RawMessage, v reflect.Value, path string) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return wrong(path, "an instant as text", data)
	}
	t, err := parseInstant(text)
	if err != nil {
		return wrong(path, "an instant such as 2026-01-02T15:04:05.123Z", data)
	}
	v.Set(reflect.ValueOf(t))
	return nil
}

func parseInstant(text string) (time.Time, error) {
	digits := 4
	if strings.HasPrefix(text, "+") || strings.HasPrefix(text, "-") {
		digits = 1 + strings.IndexByte(text[1:], '-')
	}
	if len(text) < digits || digits != 4 && digits < 7 {
		return time.Time{}, errors.New("remote: a year has four digits, or a sign and six")
	}
	var year int
	if _, err := fmt.Sscanf(text[:digits], "%d", &year); err != nil {
		return time.Time{}, err
	}
	t, err := time.Parse("2006"+instantLayout, "2000"+text[digits:]) // a leap year, so that each day exists
	if err != nil {
		return time.Time{}, err
	}
	_, offset := t.Zone()
	zone := time.UTC
	if !strings.HasSuffix(text, "Z") {
		zone = time.FixedZone("", offset)
	}
	t = time.Date(year, t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), zone)
	if _, local := t.Local().Zone(); zone != time.UTC && local == offset {
		t = t.Local()
	}
	return t, nil
}
