package providers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
)

// conform makes a standard token response (RFC 6749 section 5) from one that
// departs from it: the scope is a list or missing, the token type is missing,
// absent values are null, a success carries a request for authentication, or
// errors are in the provider's own members.
func conform(answer *http.Response) (*http.Response, error) {
	body, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusUnauthorized {
		answer.Header.Del("WWW-Authenticate")
	}
	v, _ := decode(body)
	if m, ok := v.(map[string]any); ok {
		conformMembers(m, answer.StatusCode)
		if body, err = json.Marshal(m); err != nil {
			return nil, err
		}
	}
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return answer, nil
}

func conformMembers(m map[string]any, status int) {
	maps.DeleteFunc(m, func(_ string, v any) bool { return v == nil })
	switch scope := m["scope"].(type) {
	case string:
	case []any:
		var words []string
		for _, v := range scope {
			if s, ok := v.(string); ok {
				words = append(words, s)
			}
		}
		m["scope"] = strings.Join(words, " ")
	default:
		delete(m, "scope")
	}
	if _, ok := m["token_type"].(string); !ok {
		m["token_type"] = "bearer"
	}
	code, named := m["error"].(string)
	failed := status != http.StatusOK || text(m["errcode"]) != "" && text(m["errcode"]) != "0" || m["error"] != nil
	if !failed || named && code != "" && m["message"] == nil {
		return
	}
	if !named || code == "" || strings.Contains(code, " ") {
		m["error"] = "invalid_request"
	}
	if _, ok := m["error_description"].(string); !ok {
		if s := cmp.Or(text(m["message"]), text(m["error_message"]), text(m["errmsg"])); s != "" {
			m["error_description"] = s
		}
	}
}
