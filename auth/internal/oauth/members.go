package oauth

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A member that is null is absent. A text that is empty is absent, too, because
// no member that is read here has the empty text as a value. Only members that
// are used are read; an error names the member.

// jsonObject decodes a JSON object, with numbers as json.Number. A byte order
// mark before it is ignored (RFC 8259 section 8.1).
func jsonObject(body []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(body, []byte("\ufeff"))))
	d.UseNumber()
	var members map[string]any
	if err := d.Decode(&members); err != nil || members == nil {
		return nil, errors.New("the response is not a JSON object")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the response is not a JSON object")
	}
	return members, nil
}

// text returns a member that is a text, or "" if it is absent.
func text(members map[string]any, name string) (string, error) {
	switch v := members[name].(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	}
	return "", fmt.Errorf("%s is not a string", name)
}

// required returns a member that is a text and must not be absent.
func required(members map[string]any, name string) (string, error) {
	s, err := text(members, name)
	if err == nil && s == "" {
		err = fmt.Errorf("%s is missing", name)
	}
	return s, err
}

// absent reports whether a member is absent.
func absent(members map[string]any, name string) bool {
	v := members[name]
	return v == nil || v == ""
}

// texts returns a member that is a list of texts, or nil if it is absent or
// empty. A single text is a list of one. Elements that are not texts are left
// out.
func texts(members map[string]any, name string) ([]string, error) {
	switch v := members[name].(type) {
	case nil:
		return nil, nil
	case string:
		if v == "" {
			return nil, nil
		}
		return []string{v}, nil
	case []any:
		var list []string
		for _, element := range v {
			if s, ok := element.(string); ok && s != "" && !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
		if list == nil && len(v) > 0 {
			break
		}
		return list, nil
	}
	return nil, fmt.Errorf("%s is not a list of strings", name)
}

// flag returns a member that is true or false, which may be given as a text.
// Absent is false.
func flag(members map[string]any, name string) (bool, error) {
	switch v := members[name].(type) {
	case nil:
		return false, nil
	case bool:
		return v, nil
	case string:
		switch strings.ToLower(v) {
		case "true":
			return true, nil
		case "false", "":
			return false, nil
		}
	}
	return false, fmt.Errorf("%s is not a Boolean", name)
}

// instant returns a claim that is a number of seconds since the epoch. The
// error says whether the claim is missing.
func instant(claims map[string]any, name string) (time.Time, error) {
	if absent(claims, name) {
		return time.Time{}, fmt.Errorf("%s is missing", name)
	}
	n, ok := claims[name].(json.Number)
	if !ok {
		return time.Time{}, fmt.Errorf("%s is not a number", name)
	}
	f, err := n.Float64()
	if err != nil || f < -1e11 || f > 1e11 {
		return time.Time{}, fmt.Errorf("%s is not a time in seconds", name)
	}
	return time.UnixMilli(int64(f * 1000)), nil
}

// maxLifetime is the longest lifetime that a token may state.
const maxLifetime = 200 * 365 * 24 * time.Hour

// Lifetime reads expires_in: a number of seconds, which may be given as a text.
// If v is no lifetime, the lifetime is not known, and ok is false.
func Lifetime(v any) (lifetime time.Duration, ok bool) {
	switch v.(type) {
	case string, json.Number, float64:
	default:
		return 0, false
	}
	seconds, err := strconv.ParseFloat(strings.TrimSpace(fmt.Sprint(v)), 64)
	if err != nil || !(seconds >= 0 && seconds <= maxLifetime.Seconds()) { // NaN is neither
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}
