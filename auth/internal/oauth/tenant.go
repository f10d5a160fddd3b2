package oauth

import (
	"regexp"
	"slices"
	"strings"
)

// placeholder is what Microsoft Entra ID has in the metadata of the tenants
// common and organizations, where the issuer of a token has the tenant's GUID.
const placeholder = "{tenantid}"

// personalTenant is the tenant of all personal Microsoft accounts.
// https://learn.microsoft.com/entra/identity-platform/id-token-claims-reference
const personalTenant = "9188040d-6c67-4c5b-b112-36a304b66dad"

var (
	tenantWord = regexp.MustCompile(`^[A-Za-z0-9.-]+$`)
	guid       = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
)

// entraHosts are the clouds of Microsoft Entra ID, in which a tenant has several
// names: common, organizations, consumers, its domains and its GUID.
// https://learn.microsoft.com/entra/identity-platform/authentication-national-cloud
var entraHosts = []string{"login.microsoftonline.com", "login.microsoftonline.us", "login.partner.microsoftonline.cn"}

// word is what an issuer has where the template has the tenant, if the rest is
// the same.
func word(template, issuer string) (string, bool) {
	before, after, _ := strings.Cut(template, placeholder)
	rest, ok := strings.CutPrefix(issuer, before)
	if !ok {
		return "", false
	}
	rest, ok = strings.CutSuffix(rest, after)
	return rest, ok && tenantWord.MatchString(rest)
}

// admits reports whether a configuration that names the tenant as configured
// lets accounts of the tenant in. A domain does not tell the GUID, so with
// metadata of all tenants it admits nobody.
func admits(configured, tenant string) bool {
	if !tenantWord.MatchString(tenant) {
		return false
	}
	switch configured {
	case "common":
		return true
	case "organizations":
		return !strings.EqualFold(tenant, personalTenant)
	case "consumers":
		return strings.EqualFold(tenant, personalTenant)
	}
	return strings.EqualFold(configured, tenant)
}

// named reports whether metadata of the issuer with a GUID belongs to the
// configured issuer, which has another name of the tenant: consumers, or a
// domain.
func named(configured, issuer string) bool {
	for _, host := range entraHosts {
		template := "https://" + host + "/" + placeholder + "/v2.0"
		name, ok := word(template, configured)
		tenant, same := word(template, issuer)
		if !ok || !same || !guid.MatchString(tenant) {
			continue
		}
		if strings.Contains(name, ".") { // a domain of an organisation
			return !strings.EqualFold(tenant, personalTenant)
		}
		return name == "consumers" && admits(name, tenant)
	}
	return false
}

// Accepts reports whether a token or an answer of the issuer is of this one.
// stated is what the metadata calls it, or the configured URL where there is no
// metadata.
func (i *Issuer) Accepts(stated, issuer string) bool {
	if !strings.Contains(stated, placeholder) {
		return issuer == stated
	}
	configured, ok := word(stated, i.URL)
	tenant, same := word(stated, issuer)
	return ok && same && admits(configured, tenant)
}

// Stated is the issuer that the configuration tells without metadata: with the
// placeholder if it names a group of tenants.
func (i *Issuer) Stated() string {
	for _, host := range entraHosts {
		template := "https://" + host + "/" + placeholder + "/v2.0"
		if name, ok := word(template, i.URL); ok && slices.Contains([]string{"common", "organizations", "consumers"}, name) {
			return template
		}
	}
	return i.URL
}
