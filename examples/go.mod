module github.com/gatehouse-go/gatehouse/examples

go 1.26.0

replace (
	github.com/gatehouse-go/gatehouse/adapters/memory => ../adapters/memory
	github.com/gatehouse-go/gatehouse/adapters/sqlite => ../adapters/sqlite
	github.com/gatehouse-go/gatehouse/adaptertest => ../adaptertest
	github.com/gatehouse-go/gatehouse/auth => ../auth
	github.com/gatehouse-go/gatehouse/auth/webauthn => ../auth/webauthn
	github.com/gatehouse-go/gatehouse/internal/authjs => ../internal/authjs
	github.com/google/pprof => github.com/google/pprof v0.0.0-20260802141513-ef3492d7dac3
)

require (
	github.com/a-h/templ v0.3.977
	github.com/chromedp/cdproto v0.159.0
	github.com/chromedp/chromedp v0.22.0
	github.com/gatehouse-go/gatehouse/adapters/memory v0.0.0
	github.com/gatehouse-go/gatehouse/adapters/sqlite v0.0.0-00010101000000-000000000000
	github.com/gatehouse-go/gatehouse/adaptertest v0.0.0
	github.com/gatehouse-go/gatehouse/auth v0.0.0
	github.com/gatehouse-go/gatehouse/auth/webauthn v0.0.0-00010101000000-000000000000
	github.com/gatehouse-go/gatehouse/internal/authjs v0.0.0
	github.com/go-jose/go-jose/v4 v4.1.8
	github.com/stretchr/testify v1.12.1
	golang.org/x/crypto v0.58.0
	google.golang.org/grpc v1.85.0
	modernc.org/sqlite v1.62.0
)

require (
	github.com/anishathalye/porcupine v1.3.1 // indirect
	github.com/coreos/go-oidc/v3 v3.21.0 // indirect
	github.com/dustin/go-humanize v1.1.0 // indirect
	github.com/fxamacker/cbor/v2 v2.9.4 // indirect
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
	github.com/go-viper/mapstructure/v2 v2.5.0 // indirect
	github.com/go-webauthn/webauthn v0.18.2 // indirect
	github.com/go-webauthn/x v0.3.1 // indirect
	github.com/golang-jwt/jwt/v5 v5.3.1 // indirect
	github.com/google/go-tpm v0.9.8 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/ncruces/go-strftime v1.1.0 // indirect
	github.com/philhofer/fwd v1.2.0 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	github.com/tinylib/msgp v1.6.4 // indirect
	github.com/wneessen/go-mail v0.8.1 // indirect
	github.com/x448/float16 v0.8.4 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/oauth2 v0.37.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
	modernc.org/libc v1.80.1 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.12.1 // indirect
	pgregory.net/rapid v1.3.0 // indirect
)
