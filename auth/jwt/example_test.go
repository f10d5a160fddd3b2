package jwt_test

import (
	"context"
	"fmt"
	"net/http"

	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

var exampleSecrets = []string{"a random text of 32 characters .."} // AUTH_SECRET

// A token that Auth.js reads, too.
func ExampleEncode() {
	token, err := jwt.Encode(jwt.EncodeParams{Token: jwt.Claims{"sub": "1", "name": "Ada Lovelace"}, Secrets: exampleSecrets, Salt: jwt.CookieName})
	if err != nil {
		fmt.Println(err)
		return
	}
	claims, err := jwt.Decode(jwt.DecodeParams{Token: token, Secrets: exampleSecrets, Salt: jwt.CookieName})
	fmt.Println(claims["name"], err)
	// Output: Ada Lovelace <nil>
}

// The claims of whoever sent a request.
func ExampleGetToken() {
	token, err := jwt.Encode(jwt.EncodeParams{Token: jwt.Claims{"sub": "1"}, Secrets: exampleSecrets, Salt: jwt.CookieName})
	if err != nil {
		fmt.Println(err)
		return
	}
	header := http.Header{"Cookie": {jwt.CookieName + "=" + token}}
	claims, err := jwt.GetToken(context.Background(), jwt.GetTokenParams{Header: header, Secrets: exampleSecrets})
	fmt.Println(claims["sub"], err)
	// Output: 1 <nil>
}
