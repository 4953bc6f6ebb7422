"""Whose credentials does Amazon's own package find in this environment? Prints them as JSON, for a test to compare."""

import json

import botocore.session

found = botocore.session.Session().get_credentials()
frozen = found.get_frozen_credentials() if found else None
print(json.dumps(frozen and {"id": frozen.access_key, "secret": frozen.secret_key, "token": frozen.token}))
