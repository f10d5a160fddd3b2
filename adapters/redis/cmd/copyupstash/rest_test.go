package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
)

// upstash serves a Redis server through Upstash's REST protocol. A command is a
// JSON array, and /pipeline takes an array of commands. Texts in an answer are
// in base64 if the client asks for it.
func upstash(t *testing.T, client *goredis.Client) (url string) {
	t.Helper()
	answer := func(r *http.Request, command []any) map[string]any {
		result, err := client.Do(r.Context(), command...).Result()
		if err != nil && !errors.Is(err, goredis.Nil) {
			return map[string]any{"error": err.Error()}
		}
		if text, is := result.(string); is && text != "OK" && r.Header.Get("Upstash-Encoding") == "base64" {
			result = base64.StdEncoding.EncodeToString([]byte(text))
		}
		return map[string]any{"result": result}
	}
	mux := http.NewServeMux()
	handle := func(pattern string, f func(r *http.Request, body *json.Decoder) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			body, err := f(r, json.NewDecoder(r.Body))
			if err == nil {
				err = json.NewEncoder(w).Encode(body)
			}
			assert.NoError(t, err)
		})
	}
	handle("POST /{$}", func(r *http.Request, body *json.Decoder) (any, error) {
		var command []any
		err := body.Decode(&command)
		return answer(r, command), err
	})
	handle("POST /pipeline", func(r *http.Request, body *json.Decoder) (any, error) {
		var commands [][]any
		err := body.Decode(&commands)
		var all []any
		for _, command := range commands {
			all = append(all, answer(r, command))
		}
		return all, err
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}
