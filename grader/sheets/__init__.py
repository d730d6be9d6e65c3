"""Grade sheets: delimited files whose bytes are kept, whose row is whose, and the verb that writes them."""
