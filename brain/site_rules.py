"""What URL normalisation knows about parameters: trackers everywhere, and a few sites by name.

Only parameters that never decide what a page shows are listed. A site whose rules are not certain has no entry:
keeping two addresses of one page apart costs a duplicate, merging two pages loses one.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Campaign and click identifiers that any site may carry, lower case.
TRACKERS = _names(
    """
    gclid gclsrc dclid gbraid wbraid fbclid msclkid yclid ysclid ymclid twclid ttclid li_fat_id igshid igsh
    mc_cid mc_eid mkt_tok vero_id vero_conv oly_anon_id oly_enc_id _hsenc _hsmi __hstc __hssc __hsfp
    hsctatracking _openstat srsltid _ga _gl epik s_kwcid ef_id irclickid rb_clickid wickedid wprov wt_mc
    pk_campaign pk_kwd piwik_campaign piwik_kwd __twitter_impression guccounter guce_referrer
    guce_referrer_sig ref_src ref_url phpsessid jsessionid
    """
)
TRACKER_PREFIXES = ("utm_", "amp;utm_", "mtm_", "hsa_", "aspsessionid")


@dataclass(frozen=True, slots=True)
class SiteRule:
    """Parameters of one kind of page on one site. Names are lower case; exactly one of keep and drop is used.

    The rule holds only where `path` matches and, if named, the parameter `need` is present: a search page
    without its query or a watch page without its video keeps all it has.
    """

    name: str
    site: Callable[[str, str], bool]  # (host without www., registrable domain)
    path: str = ""
    need: str | None = None
    keep: frozenset[str] | None = None
    drop: frozenset[str] = frozenset()
    drop_prefixes: tuple[str, ...] = ()

    def drops(self, name: str) -> bool:
        if self.keep is not None:
            return name not in self.keep
        return name in self.drop or name.startswith(self.drop_prefixes)


# First labels of all domains the rules speak of: one look-up sets aside the many sites without rules.
SITE_LABELS = _names(
    """
    google youtube youtu bing duckduckgo brave baidu amazon x twitter reddit facebook linkedin medium spotify
    bilibili taobao tmall aliexpress alibaba
    """
)


def is_tracker(name: str) -> bool:
    """Whether a parameter of this lower-case name is dropped on every site."""
    return name in TRACKERS or name.startswith(TRACKER_PREFIXES)


def is_google(host: str, domain: str) -> bool:
    return host == domain and domain.startswith("google.")


def _is_amazon(host: str, domain: str) -> bool:
    return host in (domain, f"smile.{domain}") and domain.startswith("amazon.")


def _on(*domains: str) -> Callable[[str, str], bool]:
    return lambda host, domain: domain in domains


def _at(*hosts: str) -> Callable[[str, str], bool]:
    return lambda host, domain: host in hosts


AMAZON_PRODUCT = r"^/(?:[^/]+/)?(?:dp|gp/product)/([A-Z0-9]{10})(?:/|$)"

# The first rule whose site and path match is the one that holds.
SITE_RULES: tuple[SiteRule, ...] = (
    SiteRule(
        "google search",
        is_google,
        r"^/search$",
        need="q",
        keep=_names(
            "q tbm udm start tbs as_q as_epq as_oq as_eq as_sitesearch as_filetype as_qdr as_nlo as_nhi"
        ),
    ),
    SiteRule(
        "youtube video",
        _at("youtube.com"),
        r"^/watch$",
        need="v",
        drop=_names(
            "list index start_radio t si pp feature ab_channel app start time_continue themerefresh rv"
            " playnext lc"
        ),
    ),
    SiteRule(
        "youtube", _at("youtube.com", "youtu.be", "music.youtube.com"), drop=_names("si pp feature app")
    ),
    SiteRule(
        "bing search",
        _at("bing.com"),
        r"^/(?:(?:images|videos|news)/)?search$",
        need="q",
        keep=_names("q first qft filters"),
    ),
    SiteRule("duckduckgo", _at("duckduckgo.com"), need="q", drop=_names("t va atb hps")),
    SiteRule("brave search", _at("search.brave.com"), need="q", drop=_names("source")),
    SiteRule(
        "baidu search",
        _at("baidu.com"),
        r"^/s$",
        need="wd",
        drop=_names("oq inputt bs usm sug prefixsug ie f"),
        drop_prefixes=("rsv_",),
    ),
    SiteRule("amazon product", _is_amazon, AMAZON_PRODUCT, keep=frozenset()),
    SiteRule(
        "amazon",
        _is_amazon,
        drop=_names("ref ref_ qid sr crid sprefix dib dib_tag content-id _encoding"),
        drop_prefixes=("pd_rd_", "pf_rd_"),
    ),
    SiteRule("post on x", _on("x.com", "twitter.com"), r"/status/[0-9]+", drop=_names("s t")),
    SiteRule("reddit", _on("reddit.com"), drop=_names("share_id rdt")),
    SiteRule("facebook", _on("facebook.com"), drop=_names("__tn__ __xts__ eid"), drop_prefixes=("__cft__",)),
    SiteRule("linkedin", _on("linkedin.com"), drop=_names("trk trackingid refid lipi")),
    SiteRule("medium", _on("medium.com"), drop=_names("source")),
    SiteRule("spotify", _at("open.spotify.com"), drop=_names("si")),
    SiteRule(
        "bilibili",
        _on("bilibili.com"),
        drop=_names("spm_id_from vd_source from_spmid share_source share_medium"),
    ),
    SiteRule(
        "alibaba", _on("taobao.com", "tmall.com", "aliexpress.com", "alibaba.com"), drop=_names("spm scm")
    ),
)

# Hosts where the whole fragment names the page: mail threads and notes.
FRAGMENT_PAGES = frozenset({"mail.google.com", "keep.google.com"})

_WIKIPEDIA_MOBILE = re.compile(r"([a-z-]+)\.m\.(wikipedia|wiktionary)\.org")


def merged_host(host: str) -> str:
    """The host that serves the same pages, for the few sites whose mobile host is known to do so."""
    if host == "m.youtube.com":
        return "youtube.com"
    if mobile := _WIKIPEDIA_MOBILE.fullmatch(host):
        return f"{mobile[1]}.{mobile[2]}.org"
    return host
