// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

bytes4 constant VALID = 0x1626ba7e;

/// A wallet that is a contract (ERC-1271): what its owner signed, it signed.
contract SmartWallet {
    address public immutable owner;

    constructor(address owner_) {
        owner = owner_;
    }

    receive() external payable {}

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        if (signature.length != 65) return 0xffffffff;
        address signer = ecrecover(hash, uint8(signature[64]), bytes32(signature[0:32]), bytes32(signature[32:64]));
        return signer != address(0) && signer == owner ? VALID : bytes4(0xffffffff);
    }
}

/// Makes wallets at addresses that are known before (EIP-6492): made twice, it answers the first one.
contract SmartWalletFactory {
    function make(address owner, bytes32 salt) external returns (address made) {
        made = addressOf(owner, salt);
        if (made.code.length == 0) made = address(new SmartWallet{salt: salt}(owner));
    }

    function addressOf(address owner, bytes32 salt) public view returns (address) {
        bytes32 code = keccak256(abi.encodePacked(type(SmartWallet).creationCode, abi.encode(owner)));
        return address(uint160(uint256(keccak256(abi.encodePacked(bytes1(0xff), address(this), salt, code)))));
    }
}

/// Signs everything.
contract YesWallet {
    function isValidSignature(bytes32, bytes calldata) external pure returns (bytes4) {
        return VALID;
    }
}

contract RevertingWallet {
    function isValidSignature(bytes32, bytes calldata) external pure returns (bytes4) {
        revert("no");
    }
}

/// Never comes to an end: uses all the gas that a node grants to a call.
contract EndlessWallet {
    function isValidSignature(bytes32 hash, bytes calldata) external pure returns (bytes4) {
        while (true) hash = keccak256(abi.encode(hash));
        return VALID;
    }
}

/// Answers the magic value and 100 kB behind it.
contract VerboseWallet {
    function isValidSignature(bytes32, bytes calldata) external pure returns (bytes4) {
        bytes4 valid = VALID;
        assembly {
            mstore(0, valid)
            return(0, 100000)
        }
    }
}

/// Says what it was last told to say.
contract FickleWallet {
    bool public agrees = true;

    function setAgrees(bool to) external {
        agrees = to;
    }

    function isValidSignature(bytes32, bytes calldata) external view returns (bytes4) {
        return agrees ? VALID : bytes4(0xffffffff);
    }
}
