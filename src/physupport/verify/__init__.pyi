from ._verify import Verification as Verification, verify as verify, verify_beside as verify_beside
