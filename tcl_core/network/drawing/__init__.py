"""The fused module as a picture: its calls, what repeats, where each is drawn.

===========  ==================================================================
module       what it does
===========  ==================================================================
``graph``    the fused module's calls as `graphs.NetworkGraph`  (tvm)
``repeats``  blocks of it that occur several times in a row     (numpy)
``layout``   where to draw it                                   (fast-sugiyama)
===========  ==================================================================
"""
