package mongo

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// roundTrip encodes details into the bytes of a document and returns the text
// that a later read decodes. It reports whether they were stored as BSON.
func roundTrip(t testing.TB, details string) (text string, structured bool, err error) {
	t.Helper()
	v, err := detailsToBSON(json.RawMessage(details))
	if err != nil {
		return "", false, err
	}
	raw, err := bson.Marshal(bson.D{{Key: "authorization_details", Value: v}})
	require.NoErrorf(t, err, "%s can't be stored", details)
	value := bson.Raw(raw).Lookup("authorization_details")
	back, err := detailsToJSON(value)
	require.NoErrorf(t, err, "%s can't be read back", details)
	return string(back), value.Type != bson.TypeString, nil
}

// TestDetails stores details as BSON if BSON can hold them, and otherwise as
// text.
func TestDetails(t *testing.T) {
	deep := strings.Repeat("[", maxDepth+2) + strings.Repeat("]", maxDepth+2)
	for _, c := range []struct {
		details    string
		structured bool
	}{
		{`[]`, true},
		{`{}`, true},
		{`[{"type":"account","actions":["read","write"],"limit":12.5,"valid":true,"until":null,"of":{"a":{}}}]`, true},
		{`[9007199254740993,-9223372036854775808,9223372036854775807,0]`, true},
		{`[-0,1e+21,0.1,-1.5]`, true},
		{`["",{"proto":"\u0000"},"é","👩‍👩‍👧"]`, true},
		{`{"__proto__":1,"constructor":2}`, true},
		{`{"12":1,"0":2}`, true},
		{`[9223372036854775808]`, false},
		{`[1.0,1e3,1E400,0.10]`, false},
		{`[0.1000000000000000055511151231257827]`, false},
		{`{"$where":"1"}`, false},
		{`{"a":{"$gt":""}}`, false},
		{`{"a.b":1}`, false},
		{`{"":1}`, false},
		{`{"a\u0000b":1}`, false},
		{`{"a":1,"a":2}`, false},
		{`["\ud800"]`, false},
		{`{"\udfff":1}`, false},
		{deep, false},
		{`"text"`, false},
		{`"123"`, false},
		{`123`, false},
		{`true`, false},
		{`null`, false},
	} {
		got, structured, err := roundTrip(t, c.details)
		if !assert.NoError(t, err, c.details) {
			continue
		}
		assert.Equalf(t, c.structured, structured, "%s is structured", c.details)
		assert.Falsef(t, !c.structured && got != c.details || c.structured && !sameJSON(got, c.details),
			"%s came back as %s", c.details, got)
	}
}

// sameJSON compares values to the last digit of every number.
func sameJSON(a, b string) bool {
	decode := func(s string) (v any) {
		d := json.NewDecoder(strings.NewReader(s))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			return err
		}
		return v
	}
	return reflect.DeepEqual(decode(a), decode(b))
}

// TestDetailsRefused refuses details that are not JSON or not UTF-8.
func TestDetailsRefused(t *testing.T) {
	for _, details := range []string{``, `[`, `[1,]`, `{"a"}`, `[1] [2]`, "[\"\xff\"]", "{\"\xfe\":1}"} {
		got, _, err := roundTrip(t, details)
		assert.Errorf(t, err, "%q came back as %q, want an error", details, got)
	}
}

// TestDetailsOfOthers reads values that other writers may have stored, or
// returns an error.
func TestDetailsOfOthers(t *testing.T) {
	for _, c := range []struct {
		stored any
		want   string // "" if it is an error
	}{
		{bson.A{bson.D{{Key: "n", Value: int32(7)}, {Key: "f", Value: 2.0}}}, `[{"n":7,"f":2}]`},
		{bson.D{{Key: "$a.b", Value: nil}}, `{"$a.b":null}`},
		{`[{"kept":"as text"}]`, `[{"kept":"as text"}]`},
		{`no JSON`, ``},
		{bson.A{bson.NewObjectID()}, ``},
		{bson.A{bson.Binary{Data: []byte{1}}}, ``},
	} {
		raw, err := bson.Marshal(bson.D{{Key: "v", Value: c.stored}})
		require.NoError(t, err)
		got, err := detailsToJSON(bson.Raw(raw).Lookup("v"))
		assert.Equalf(t, c.want, string(got), "%v", c.stored)
		assert.Equalf(t, c.want != "", err == nil, "%v: got %v", c.stored, err)
	}
}

func FuzzDetails(f *testing.F) {
	for _, s := range []string{`[]`, `[{"a":[1,2.5,-0,"x",null,true]}]`, `{"$a":1e400}`, `["\ud800"]`, `[1e-7]`, `"s"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, details []byte) {
		got, _, err := roundTrip(t, string(details))
		if err != nil {
			return
		}
		require.Truef(t, json.Valid([]byte(got)), "%q came back as %q, which is no JSON", details, got)
		var want, have any
		if json.Unmarshal(details, &want) != nil {
			require.Equal(t, string(details), got) // numbers beyond a float64 stay text
			return
		}
		err = json.Unmarshal([]byte(got), &have)
		require.Truef(t, err == nil && reflect.DeepEqual(have, want), "%q came back as %q", details, got)
		again, _, err := roundTrip(t, got)
		require.Truef(t, err == nil && bytes.Equal([]byte(again), []byte(got)),
			"%q came back as %q, and that as %q, %v", details, got, again, err)
	})
}
