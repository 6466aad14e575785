"""What the visitors of the website do and see, with how often they do."""

from typing import Final

# Events in each hour of the day, UTC: night, morning, noon, an evening peak.
HOURLY: Final = (
    18, 12, 8, 6, 6, 9, 18, 34, 52, 64, 70, 74, 78, 74, 70, 70, 74, 82, 92, 100, 98, 82, 56, 32,
)  # fmt: skip

KINDS: Final = ("page_view", "search", "sign_in")
PAGE_VIEW, SEARCH, SIGN_IN = range(3)
KIND_WEIGHTS: Final = (82, 14, 4)

SEARCH_PAGE: Final = "/search"
SIGN_IN_PAGE: Final = "/sign-in"
PAGES: Final = (
    "/", "/offers", "/help", "/about",
    *(f"/category/{number}" for number in range(1, 25)),
    *(f"/product/{number}" for number in range(1, 501)),
)  # fmt: skip

_WORDS: Final = (
    "shoes", "coat", "lamp", "bicycle", "kettle", "novel", "headphones", "backpack", "umbrella",
    "camera", "desk", "chair", "jumper", "scarf", "teapot", "atlas",
)  # fmt: skip
_QUALITIES: Final = ("", "red ", "cheap ", "wooden ", "children's ", "large ", "used ", "warm ")
QUERIES: Final = tuple(quality + word for word in _WORDS for quality in _QUALITIES)

# Where a session comes from; none: typed in.
ORIGINS: Final = (
    None,
    "https://search.example/",
    "https://social.example/feed",
    "https://news.example/",
    "https://mail.example/newsletter",
)
ORIGIN_WEIGHTS: Final = (30, 45, 14, 5, 6)

COUNTRIES: Final = ("DE", "FR", "GB", "US", "PL", "IT", "ES", "NL", "IN", "BR", "JP", "ZA")
COUNTRY_WEIGHTS: Final = (22, 12, 12, 16, 7, 7, 7, 5, 5, 3, 2, 2)
DEVICES: Final = ("phone", "computer", "tablet")
DEVICE_WEIGHTS: Final = (58, 36, 6)
