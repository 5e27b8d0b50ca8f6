#ifndef SBX_ENTER_IMAGE_H
#define SBX_ENTER_IMAGE_H

extern const char sbx_enter_image[], sbx_enter_image_end[];

#endif
