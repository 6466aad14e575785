"""What a broker without security says to who asks it for some, in Kafka's words."""

from typing import Final

NO_AUTHORIZER: Final = "No Authorizer is configured."
NO_TIME: Final = -1  # of a delegation token that there is not
