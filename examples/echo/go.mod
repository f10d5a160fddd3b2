module github.com/gatehouse-go/gatehouse/examples/echo

go 1.26.0

replace (
	github.com/gatehouse-go/gatehouse/auth => ../../auth
	github.com/gatehouse-go/gatehouse/examples/internal/visitor => ../internal/visitor
)

require (
	github.com/gatehouse-go/gatehouse/auth v0.0.0
	github.com/gatehouse-go/gatehouse/examples/internal/visitor v0.0.0
	github.com/labstack/echo/v4 v4.16.0
)

require (
	github.com/coreos/go-oidc/v3 v3.21.0 // indirect
	github.com/go-jose/go-jose/v4 v4.1.8 // indirect
	github.com/labstack/gommon v0.5.0 // indirect
	github.com/mattn/go-colorable v0.1.15 // indirect
	github.com/mattn/go-isatty v0.0.22 // indirect
	github.com/valyala/bytebufferpool v1.0.0 // indirect
	github.com/valyala/fasttemplate v1.2.2 // indirect
	github.com/wneessen/go-mail v0.8.1 // indirect
	golang.org/x/crypto v0.54.0 // indirect
	golang.org/x/net v0.56.0 // indirect
	golang.org/x/oauth2 v0.37.0 // indirect
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/text v0.40.0 // indirect
)
