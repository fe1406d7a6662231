"""The studio: what the command line does, on a page of this computer. A thin door; every number comes from elsewhere."""
